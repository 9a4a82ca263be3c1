import { z } from 'zod'
import { ModelId, NextCursor, QueryInt } from '../codecs.ts'
import { defineEndpoint, textOf } from '../endpoint.ts'
import { NodeFaults } from '../schemas/fault.ts'
import { PublishedPools } from '../schemas/list.ts'
import { Health, JsonWebKeySet, Network, Readiness } from '../schemas/network.ts'
import { ActiveNode, Models, NodeRecord, ReputationEvents } from '../schemas/nodes.ts'
import { AddressPath, Cursor } from './parts.ts'

/** Operations for everybody: the ICL's health, its network, its nodes. */
export const publicEndpoints = {
  getHealth: defineEndpoint({
    method: 'GET',
    path: '/health',
    summary: 'How the ICL is',
    auth: 'none',
    response: Health,
    problems: [],
  }),
  getLiveness: defineEndpoint({
    method: 'GET',
    path: '/livez',
    summary: 'Whether the process responds',
    auth: 'none',
    response: z.object({ status: z.literal('ok') }),
    problems: [],
  }),
  getReadiness: defineEndpoint({
    method: 'GET',
    path: '/readyz',
    summary: 'Whether to send traffic here, and what is degraded',
    auth: 'none',
    response: Readiness,
    problems: ['unavailable'],
  }),
  getMetrics: defineEndpoint({
    method: 'GET',
    path: '/metrics',
    summary: 'Counters and durations for Prometheus',
    auth: 'metrics-token',
    response: textOf('text/plain; version=0.0.4; charset=utf-8'),
    problems: ['token-invalid'],
  }),
  getOpenApi: defineEndpoint({
    method: 'GET',
    path: '/openapi.json',
    summary: 'This reference as an OpenAPI 3.1 document',
    auth: 'none',
    response: textOf('application/json'),
    hasEtag: true,
    problems: [],
  }),
  getDocs: defineEndpoint({
    method: 'GET',
    path: '/docs',
    summary: 'This reference as a page',
    auth: 'none',
    response: textOf('text/html; charset=utf-8'),
    problems: [],
  }),
  getNetwork: defineEndpoint({
    method: 'GET',
    path: '/v1/network',
    summary: 'Chain, contracts and limits of this deployment',
    auth: 'none',
    response: Network,
    hasEtag: true,
    problems: [],
  }),
  getJwks: defineEndpoint({
    method: 'GET',
    path: '/.well-known/jwks.json',
    summary: "The ICL's public signing keys",
    auth: 'none',
    response: JsonWebKeySet,
    hasEtag: true,
    problems: [],
  }),
  getPools: defineEndpoint({
    method: 'GET',
    path: '/v1/pools',
    summary: 'The pools that lists were drawn from in the last hour, newest first',
    auth: 'none',
    response: PublishedPools,
    problems: [],
  }),
  getActiveNodes: defineEndpoint({
    method: 'GET',
    path: '/v1/nodes/active',
    summary: 'The active pool',
    auth: 'none',
    query: z.object({
      model_id: ModelId.optional(),
      min_tier: QueryInt(0, 255).default(0),
      cursor: Cursor.optional(),
    }),
    response: z.object({ nodes: z.array(ActiveNode).max(1_000), next_cursor: NextCursor }),
    problems: ['invalid-request', 'chain-unavailable'],
  }),
  getNode: defineEndpoint({
    method: 'GET',
    path: '/v1/nodes/{address}',
    summary: "One node's record",
    auth: 'none',
    params: AddressPath,
    response: NodeRecord,
    problems: ['invalid-request', 'node-not-found', 'chain-unavailable'],
  }),
  getNodeEvents: defineEndpoint({
    method: 'GET',
    path: '/v1/nodes/{address}/events',
    summary: "What a node's reputation is made of, signed, newest first, 100 a page",
    auth: 'none',
    params: AddressPath,
    query: z.object({ cursor: Cursor.optional() }),
    response: ReputationEvents,
    problems: ['invalid-request', 'node-not-found'],
  }),
  getNodeFaults: defineEndpoint({
    method: 'GET',
    path: '/v1/nodes/{address}/faults',
    summary: 'What a node is proven to have done wrong, with the proof, newest first, 20 a page',
    auth: 'none',
    params: AddressPath,
    query: z.object({ cursor: Cursor.optional() }),
    response: NodeFaults,
    problems: ['invalid-request', 'node-not-found'],
  }),
  getModels: defineEndpoint({
    method: 'GET',
    path: '/v1/models',
    summary: 'The models served now',
    auth: 'none',
    response: Models,
    problems: ['chain-unavailable'],
  }),
} as const
