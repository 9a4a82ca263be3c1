// npm run check: all checks of the source except the tests. Ends with `N passed, N failed`.
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './bun-binary.mjs'
import { countsLine } from './counts.mjs'
import { runBun } from './run-bun.mjs'
import { runProcess } from './run-process.mjs'
import { ensureSetup } from './setup.mjs'

const bun = await ensureSetup()
const folder = mkdtempSync(join(tmpdir(), 'svc-check-'))
const binary = (name) => join(root, 'node_modules', '.bin', name)
const quiet = {
  cwd: root,
  stdio: ['ignore', 'inherit', 'inherit'],
  shell: process.platform === 'win32',
  env: {
    ...process.env,
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  },
}

const lintOpenApi = async () => {
  const file = join(folder, 'openapi.json')
  const out = openSync(file, 'w')
  const printed = await runBun(bun, [join(root, 'icl', 'start', 'print-openapi.ts')], {
    ...quiet,
    stdio: ['ignore', out, 'inherit'],
  })
  closeSync(out)
  if (printed !== 0) return printed
  return runProcess(binary('redocly'), ['lint', file, '--config', 'redocly.yaml'], quiet)
}

// `npm test` runs every test under Bun. Mutation testing runs those of single parts under vitest, on Node.
const runMutants = () =>
  runProcess('node', ['scripts/node.mjs', 'tests/mutation/check-mutants.mjs'], quiet)

/** Runs both halves concurrently, because a simulation has one thread. */
const runSimulation = async () => {
  const half = (from) => {
    const args = ['--seeds', '25', '--from', `${from}`]
    return runBun(bun, [join(root, 'tests', 'simulation', 'main.ts'), ...args], quiet)
  }
  const codes = await Promise.all([half(1), half(26)])
  return codes.find((code) => code !== 0) ?? 0
}

const checks = [
  ['format and lint (Biome)', () => runProcess(binary('biome'), ['check', '.'], quiet)],
  ['types', () => runProcess(binary('tsc'), ['-p', 'tsconfig.json', '--noEmit'], quiet)],
  [
    'types without a runtime',
    () => runProcess(binary('tsc'), ['-p', 'tsconfig.portable.json', '--noEmit'], quiet),
  ],
  ['nothing unused (knip)', () => runProcess(binary('knip'), [], quiet)],
  ['checksums of packages', () => runProcess('node', ['scripts/check-lockfile.mjs'], quiet)],
  ['OpenAPI document (Redocly)', lintOpenApi],
  ['the simulation of 50 seeds', runSimulation],
  ['tests of single parts under vitest, and mutants that they kill (Stryker)', runMutants],
]

let passed = 0
try {
  for (const [name, run] of checks) {
    const code = await run()
    if (code === 0) passed += 1
    console.log(`${code === 0 ? 'pass' : 'FAIL'}  ${name}`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
const failed = checks.length - passed
process.exitCode = failed === 0 ? 0 : 1
console.log(countsLine({ passed, failed }))
