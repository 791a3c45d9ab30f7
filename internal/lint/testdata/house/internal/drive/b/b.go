package b

import _ "github.com/ottla/ottla/internal/edge/storage"
