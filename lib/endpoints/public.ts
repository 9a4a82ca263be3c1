import { z } from 'zod'
import { ModelId, NextCursor, QueryInt } from '../codecs.ts'
import { get, textOf } from '../endpoint.ts'
import { NodeFaults } from '../schemas/fault.ts'
import { PublishedPools } from '../schemas/list.ts'
import { Health, JsonWebKeySet, Network, Readiness } from '../schemas/network.ts'
import { ActiveNode, Models, NodeRecord, ReputationEvents } from '../schemas/nodes.ts'
import { AddressPath, Cursor } from './parts.ts'

/** Operations for everybody: the ICL's health, its network, its nodes. */
export const publicEndpoints = {
  getHealth: get('/health', 'none', {
    summary: 'How the ICL is: 503 while it cannot serve',
    response: Health,
    isUnavailable: ({ status }: Health) => status === 'unavailable',
    problems: [],
  }),
  getLiveness: get('/livez', 'none', {
    summary: 'Whether the process responds',
    response: z.object({ status: z.literal('ok') }),
    problems: [],
  }),
  getReadiness: get('/readyz', 'none', {
    summary: 'Whether to send traffic here, and what is degraded',
    response: Readiness,
    problems: ['unavailable'],
  }),
  getMetrics: get('/metrics', 'metrics-token', {
    summary: 'Counters and durations for Prometheus',
    response: textOf('text/plain; version=0.0.4; charset=utf-8'),
    problems: ['token-invalid'],
  }),
  getOpenApi: get('/openapi.json', 'none', {
    summary: 'This reference as an OpenAPI 3.1 document',
    response: textOf('application/json'),
    hasEtag: true,
    problems: [],
  }),
  getDocs: get('/docs', 'none', {
    summary: 'This reference as a page',
    response: textOf('text/html; charset=utf-8'),
    problems: [],
  }),
  getDocsScript: get('/docs/redoc.js', 'none', {
    summary: 'The script of that page, where the ICL has it',
    response: textOf('text/javascript; charset=utf-8'),
    hasEtag: true,
    problems: ['not-found'],
  }),
  getNetwork: get('/v1/network', 'none', {
    summary: 'Chain, contracts and limits of this deployment',
    response: Network,
    hasEtag: true,
    problems: [],
  }),
  getJwks: get('/.well-known/jwks.json', 'none', {
    summary: "The ICL's public signing keys",
    response: JsonWebKeySet,
    hasEtag: true,
    problems: [],
  }),
  getPools: get('/v1/pools', 'none', {
    summary: 'The pools that lists were drawn from in the last hour, newest first',
    response: PublishedPools,
    problems: [],
  }),
  getActiveNodes: get('/v1/nodes/active', 'none', {
    summary: 'The active pool',
    query: z.object({
      model_id: ModelId.optional(),
      min_tier: QueryInt(0, 255).default(0),
      cursor: Cursor.optional(),
    }),
    response: z.object({ nodes: z.array(ActiveNode).max(1_000), next_cursor: NextCursor }),
    problems: ['invalid-request', 'chain-unavailable'],
  }),
  getNode: get('/v1/nodes/{address}', 'none', {
    summary: "One node's record",
    params: AddressPath,
    response: NodeRecord,
    problems: ['invalid-request', 'node-not-found', 'chain-unavailable'],
  }),
  getNodeEvents: get('/v1/nodes/{address}/events', 'none', {
    summary: "What a node's reputation is made of, signed, newest first, 100 a page",
    params: AddressPath,
    query: z.object({ cursor: Cursor.optional() }),
    response: ReputationEvents,
    problems: ['invalid-request', 'node-not-found'],
  }),
  getNodeFaults: get('/v1/nodes/{address}/faults', 'none', {
    summary: 'What a node is proven to have done wrong, with the proof, newest first, 20 a page',
    params: AddressPath,
    query: z.object({ cursor: Cursor.optional() }),
    response: NodeFaults,
    problems: ['invalid-request', 'node-not-found'],
  }),
  getModels: get('/v1/models', 'none', {
    summary: 'The models served now',
    response: Models,
    problems: ['chain-unavailable'],
  }),
} as const
