"""What a part must do: one Protocol per shelf. Together they are the whole extension surface of the compiler."""
