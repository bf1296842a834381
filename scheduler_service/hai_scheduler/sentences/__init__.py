"""What users are told, in each language: the texts are in `en.toml` and `zh_CN.toml`, a function fills in each kind."""
