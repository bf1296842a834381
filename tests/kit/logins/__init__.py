"""Providers of logins: OpenID Connect of our own, and Debian's slapd."""
