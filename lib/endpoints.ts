import { clientEndpoints } from './endpoints/client.ts'
import { consoleEndpoints } from './endpoints/console.ts'
import { nodeEndpoints } from './endpoints/node.ts'
import { publicEndpoints } from './endpoints/public.ts'

/** Every HTTP operation of the ICL (spec 4). The server mounts this table, the typed client calls it, OpenAPI renders it. */
export const endpoints = {
  ...publicEndpoints,
  ...consoleEndpoints,
  ...clientEndpoints,
  ...nodeEndpoints,
} as const

/** The name of an operation, in the table and as OpenAPI's operationId. */
export type OperationId = keyof typeof endpoints

/** Problems that any operation may answer with. */
export const commonProblems = [
  'invalid-request',
  'invalid-query',
  'request-timeout',
  'uri-too-long',
  'rate-limited',
  'headers-too-large',
  'internal-error',
  'unavailable',
] as const

/** The most bytes of a JSON body. */
export const maxBodyBytes = 256 * 1024
/** The most bytes of a blob: one raw IPFS block. */
export const maxBlobBytes = 1024 * 1024
/** The most bytes of a request's URL. */
export const maxUrlBytes = 4 * 1024
/** The most bytes of all headers of a request together. */
export const maxHeaderBytes = 8 * 1024
