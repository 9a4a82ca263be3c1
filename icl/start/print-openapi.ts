import { openApiDocument } from '../openapi.ts'
import { version } from '../version.ts'

console.log(JSON.stringify(openApiDocument(version, '/'), null, 2))
