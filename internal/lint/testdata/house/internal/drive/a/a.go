package a

import _ "github.com/ottla/ottla/internal/drive/b"
