"""The web page: a server on the loopback interface, for one project and one person."""
