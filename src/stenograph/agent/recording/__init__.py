"""The agent's session on disk: written, resumed, forked, rewound."""
