// Installs the programs that only tests need: builds Kubo into a folder of this user, once per version, and makes Python environments
// there. As root, it has Debian's package manager install the software TPM, Chromium and a C compiler: node scripts/install-tools.mjs
// [secantusdb|kubo|python|swtpm|chromium|cc ...]
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { runProcess } from './run-process.mjs'
import { kubo, pythonClient, secantusDb } from './tools.mjs'

const run = (command, args, options) =>
  runProcess(command, args, { stdio: ['ignore', 2, 2], ...options }).catch((error) => {
    console.error(`${command} cannot be run: ${error.message}`)
    return 1
  })

/** Has `build` fill a new folder, which then gets the tool's name: it appears whole or not at all. Returns the exit code. */
const installTool = async ({ name, folder, path }, how, build) => {
  if (!existsSync(path)) {
    console.error(`${how} ...`)
    mkdirSync(join(folder, '..'), { recursive: true })
    const building = mkdtempSync(`${folder}.`)
    try {
      const code = await build(building)
      if (code !== 0) return code
      // Other users may share the folder of tools, and another process may have installed this one meanwhile.
      chmodSync(building, 0o755)
      if (!existsSync(path)) renameSync(building, folder)
    } finally {
      rmSync(building, { recursive: true, force: true })
    }
  }
  console.error(`${name}: ${path}`)
  return 0
}

const installKubo = (tool) => {
  const { name, source, folder, path } = tool
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' }
  return installTool(tool, `Building ${name} with Go (two to five minutes)`, (building) => {
    const built = join(building, relative(folder, path))
    const args = ['build', '-p', '2', '-trimpath', '-ldflags', '-s -w', '-o', built]
    return run('go', [...args, 'github.com/ipfs/kubo/cmd/ipfs'], { cwd: source, env })
  })
}

/** Makes a virtual environment with the pinned packages. */
const installPython = (tool) => {
  const { name, source, folder, path } = tool
  if (!isInstalled('python3'))
    return missing(`${name} missing: install python3 and its module venv`)
  return installTool(tool, `Installing ${name}`, async (building) => {
    const made = await run('python3', ['-m', 'venv', building])
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary']
    const args = [...pip, ':all:', '--requirement', source]
    return made === 0 ? await run(join(building, relative(folder, path)), args) : made
  })
}

const isInstalled = (program) =>
  spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined

/** Says what cannot be installed here: the tests name what they skip for it. */
const missing = (what) => {
  console.error(what)
  return process.env.CI === 'true' ? 1 : 0
}

/** Installs Debian packages unless their programs are there. Returns the exit code. */
const installDebianPrograms = async (name, programs, packages) => {
  if (programs.every(isInstalled)) {
    console.error(`${name}: installed`)
    return 0
  }
  if (process.getuid?.() !== 0 || !isInstalled('apt-get')) {
    return missing(`${name} missing: install the packages ${packages.join(', ')}`)
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

const tpmPrograms = ['swtpm', 'swtpm_setup', 'swtpm_localca', 'tpm2_quote', 'tpm2_checkquote']
const tpmPackages = ['swtpm', 'swtpm-tools', 'tpm2-tools']
// If CHROMIUM names a browser, no other is needed.
const browser = process.env.CHROMIUM || 'chromium'

const tools = {
  secantusdb: () => installPython(secantusDb()),
  kubo: () => installKubo(kubo()),
  python: () => installPython(pythonClient()),
  swtpm: () => installDebianPrograms('swtpm and tpm2-tools', tpmPrograms, tpmPackages),
  chromium: () => installDebianPrograms('Chromium', [browser], ['chromium']),
  cc: () => installDebianPrograms('A C compiler', ['cc'], ['gcc', 'libc6-dev']),
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
