// Installs the programs that only tests need: builds FerretDB and Kubo into a folder of this user, once per version, and makes a Python
// environment there. As root, it has Debian's package manager install the software TPM, Chromium and a C compiler: node
// scripts/install-tools.mjs [ferretdb|kubo|python|swtpm|chromium|cc ...]
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { runProcess } from './run-process.mjs'
import { ferretDb, kubo, pythonClient } from './tools.mjs'

const run = (command, args, options) =>
  runProcess(command, args, { stdio: ['ignore', 2, 2], ...options }).catch((error) => {
    console.error(`${command} cannot be run: ${error.message}`)
    return 1
  })

/** Builds a Go program unless this very build exists. Returns the exit code. */
const installGoTool = async (
  { name, source, version, folder, path, target, ldflags },
  duration,
) => {
  if (existsSync(path)) {
    console.error(`${name} ${version}: ${path}`)
    return 0
  }
  console.error(`Building ${name} ${version} with Go (${duration}) ...`)
  mkdirSync(join(folder, '..'), { recursive: true })
  const building = mkdtempSync(`${folder}.`)
  try {
    const built = join(building, 'program')
    const args = ['build', '-p', '2', '-trimpath', '-ldflags', ldflags, '-o', built, target]
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' }
    const code = await run('go', args, { cwd: source, env })
    if (code !== 0) return code
    mkdirSync(folder, { recursive: true })
    // The rename makes the program appear whole or not at all.
    renameSync(built, path)
    console.error(`${name} ${version}: ${path}`)
    return 0
  } finally {
    rmSync(building, { recursive: true, force: true })
  }
}

/** Makes a virtual environment with the pinned packages, unless it exists. Returns the exit code. */
const installPython = async ({ name, source, folder, path }) => {
  if (existsSync(path)) {
    console.error(`${name}: ${path}`)
    return 0
  }
  if (!isInstalled('python3')) {
    console.error(`${name} missing: install python3 and its module venv`)
    return process.env.CI === 'true' ? 1 : 0
  }
  console.error(`Installing ${name} ...`)
  mkdirSync(join(folder, '..'), { recursive: true })
  const building = mkdtempSync(`${folder}.`)
  try {
    const made = await run('python3', ['-m', 'venv', building])
    if (made !== 0) return made
    const python = join(building, path.slice(folder.length))
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary']
    const code = await run(python, [...pip, ':all:', '--requirement', source])
    if (code !== 0) return code
    renameSync(building, folder)
    console.error(`${name}: ${path}`)
    return 0
  } finally {
    rmSync(building, { recursive: true, force: true })
  }
}

const isInstalled = (program) =>
  spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined

/** Returns the exit code. If it cannot install, it says so, and the tests name what they skip. */
const installDebianPrograms = async ({ name, programs, packages }) => {
  if (programs.every(isInstalled)) {
    console.error(`${name}: installed`)
    return 0
  }
  if (process.getuid?.() !== 0 || !isInstalled('apt-get')) {
    console.error(`${name} missing: install the packages ${packages.join(', ')}`)
    return process.env.CI === 'true' ? 1 : 0
  }
  console.error(`Installing ${packages.join(', ')} ...`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const install = () =>
    run('apt-get', ['install', '-y', '--no-install-recommends', ...packages], { env })
  // On a fresh machine the package lists are empty or old.
  if ((await install()) === 0) return 0
  await run('apt-get', ['update'], { env })
  return await install()
}

const softwareTpm = {
  name: 'swtpm and tpm2-tools',
  programs: ['swtpm', 'swtpm_setup', 'swtpm_localca', 'tpm2_quote', 'tpm2_checkquote'],
  packages: ['swtpm', 'swtpm-tools', 'tpm2-tools'],
}
const chromium = {
  name: 'Chromium',
  // If CHROMIUM names a browser, no other is needed.
  programs: [process.env.CHROMIUM || 'chromium'],
  packages: ['chromium'],
}

const compiler = {
  name: 'A C compiler',
  programs: ['cc'],
  packages: ['gcc', 'libc6-dev'],
}

const tools = {
  ferretdb: () => installGoTool(ferretDb(), 'a minute or two'),
  kubo: () => installGoTool(kubo(), 'two to five minutes'),
  python: () => installPython(pythonClient()),
  swtpm: () => installDebianPrograms(softwareTpm),
  chromium: () => installDebianPrograms(chromium),
  cc: () => installDebianPrograms(compiler),
}

const named = process.argv.slice(2)
const unknown = named.filter((name) => !Object.hasOwn(tools, name))
if (unknown.length > 0) {
  console.error(`No tool ${unknown.join(', ')}. Name some of ${Object.keys(tools).join(', ')}.`)
  process.exit(2)
}
const codes = []
for (const [name, install] of Object.entries(tools)) {
  if (named.length === 0 || named.includes(name)) codes.push(await install())
}
process.exitCode = codes.find((code) => code !== 0) ?? 0
