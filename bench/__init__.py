"""Speed and memory against peers, side by side in one run, as ratios: machines are noisy, ratios less so."""
