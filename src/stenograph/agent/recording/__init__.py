"""The agent's session on disk: lines written as it goes, resumed, forked and rewound; files kept as they were."""
