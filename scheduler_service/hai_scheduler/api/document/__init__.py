"""The OpenAPI document, made from the table of routes and the models."""
