"""A team's hub: runs are pushed to a shared store and pulled from it, by members with a token."""
