import { openApiDocument } from '../docs/openapi.ts'
import { version } from '../version.ts'

console.log(JSON.stringify(openApiDocument(version, '/'), null, 2))
