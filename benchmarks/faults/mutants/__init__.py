"""Changes to the gateway's modules, each of which breaks one promise. They are made when a mutant starts."""
