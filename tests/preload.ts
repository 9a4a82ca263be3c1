import { plugin } from 'bun'

// What `bun test` loads before the tests, so that it has the limits of `npm test` however it is started.
//
// Bun reads no time limit from bunfig.toml, and forgets `setDefaultTimeout` at the end of each file. So each test file sets the
// limit in its first line. The limit is a last resort: tests wait for events, and none is decided by it.
const limitMs = 300_000
const firstLine = `import { setDefaultTimeout as $setDefaultTimeout } from 'bun:test'; $setDefaultTimeout(${limitMs}); `

plugin({
  name: 'test-limit',
  setup(build) {
    build.onLoad({ filter: /\.test\.ts$/ }, async ({ path }) => ({
      contents: firstLine + (await Bun.file(path).text()),
      loader: 'ts',
    }))
  },
})

// Tests call servers on this machine; a proxy of the environment has no way to them.
const local = ['127.0.0.1', 'localhost']
for (const name of ['no_proxy', 'NO_PROXY']) {
  const given = process.env[name]?.split(',') ?? []
  process.env[name] = [...new Set([...given, ...local])].filter((host) => host !== '').join(',')
}
