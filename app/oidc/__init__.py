"""People who sign in with an OpenID Connect provider. Imported only if an issuer is set."""
