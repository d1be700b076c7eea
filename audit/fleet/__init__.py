"""The measurement window on a cluster: deploy, watch, collect, tear down, over Ansible."""
