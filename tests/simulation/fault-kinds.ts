/** What can happen to a simulated world from outside, for a while. */
export const faultKinds = [
  'chain-away',
  'chain-reorganised',
  'chain-throttled',
  'coprocessor-fails',
  'node-killed',
  'node-stopped',
  'partition',
  'provider-fails',
  'replica-frozen',
  'replica-killed',
  'replica-stopped',
  'store-away',
] as const
export type FaultKind = (typeof faultKinds)[number]
