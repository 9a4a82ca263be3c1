/**
 * Blocks of the documentation that are no example of `examples/` and that tests/examples/example-tests.ts does not run: by file and
 * how they begin, which test runs what they show, or why none can.
 */
export const runElsewhere: readonly {
  readonly file: string
  readonly begins: string
  readonly reason: string
}[] = [
  {
    file: 'README.md',
    begins: 'npm run demo -- "Name three',
    reason: 'tests/e2e/demo-script.test.ts runs the demo; npm test is what runs this',
  },
  {
    file: 'docs/client.md',
    begins: 'npm run demo -- --keep',
    reason: 'stays until Ctrl-C; tests/client starts the same world, with the same settings',
  },
  {
    file: 'docs/build.md',
    begins: 'npm run build:node ',
    reason: 'takes minutes and downloads runtimes; tests/binary builds for this machine',
  },
  {
    file: 'docs/build.md',
    begins: 'sha256sum --check',
    reason: 'needs a published release; tests/binary runs self-check',
  },
  {
    file: 'docs/build.md',
    begins: 'npm run release ',
    reason: 'takes minutes; tests/packaging runs its short form',
  },
  {
    file: 'docs/build.md',
    begins: 'sudo install -m 755 svc-node',
    reason: 'needs root and systemd; tests/packaging checks the units',
  },
  {
    file: 'docs/build.md',
    begins: 'sudo install -m 644 packaging/systemd/svc-icl',
    reason: 'needs root and systemd; tests/packaging checks the units',
  },
  {
    file: 'docs/build.md',
    begins: 'npm run build:node -- --target',
    reason: 'needs a container engine',
  },
  {
    file: 'docs/comparators.md',
    begins: 'export FIREWORKS_API_KEY',
    reason: 'needs a key of a provider, and money',
  },
  {
    file: 'docs/contracts.md',
    begins: 'npm run contracts:deploy',
    reason: 'needs a public network, and money; tests/contracts deploys on a local chain',
  },
  {
    file: 'docs/contracts.md',
    begins: 'import { parseDeployment }',
    reason: 'needs a public network; tests/client/connect does the same on a local chain',
  },
  {
    file: 'docs/contracts.md',
    begins: 'npm run contracts:fuzz',
    reason: 'takes minutes; tests/contracts/invariants runs its short form',
  },
  {
    file: 'docs/contracts.md',
    begins: 'const anvil = await startAnvil()',
    reason: 'is how demo/local-chain.ts begins, which every test with a world runs',
  },
  {
    file: 'docs/contracts.md',
    begins: 'node scripts/bun.mjs contracts/local/coprocessor',
    reason: 'a server that stays; tests/contracts/local starts it',
  },
  {
    file: 'docs/operations.md',
    begins: 'npm run build:node -- --target',
    reason: 'needs a container engine; tests/packaging checks the settings',
  },
  {
    file: 'docs/operations.md',
    begins: 'cp packaging/kubernetes',
    reason: 'needs Kubernetes; tests/packaging checks the settings',
  },
  {
    file: 'docs/operators.md',
    begins: '# 1. The executable',
    reason: 'needs a published release and a public network; tests/node runs each command',
  },
  {
    file: 'docs/operators.md',
    begins: 'export SVC_KEY_PASSWORD_FILE',
    reason: 'needs a public network; tests/node/commands runs each command',
  },
  {
    file: 'docs/operators.md',
    begins: 'export SVC_OLLAMA_BASE_URL',
    reason: 'needs an Ollama server; tests/e2e/inference.test.ts runs nodes with these variables',
  },
  {
    file: 'docs/operators.md',
    begins: 'source <(svc-node completion',
    reason: "writes the user's shell files; tests/node/commands checks completions",
  },
  {
    file: 'docs/operators.md',
    begins: 'sudo usermod',
    reason: 'needs root and a TPM; tests/node/commands runs doctor',
  },
  {
    file: 'docs/gateway.md',
    begins: 'npm run gateway',
    reason: 'a server that stays; tests/client/gateway serves the same',
  },
  {
    file: 'docs/gateway.md',
    begins: 'curl http://127.0.0.1:8787/v1/chat/completions',
    reason: 'needs the server above; tests/client/gateway sends the same request',
  },
  {
    file: 'docs/gateway.md',
    begins: 'git clone REPOSITORY',
    reason: 'stays until Ctrl-C; npm run test:agents starts the same service',
  },
  {
    file: 'docs/gateway.md',
    begins: 'mkdir agent-try',
    reason: 'installs an agent; npm run test:agents runs it the same way',
  },
  {
    file: 'docs/gateway.md',
    begins: 'pip install "litellm[proxy]"',
    reason: 'installs a proxy that stays; tried by hand, the page says when',
  },
  {
    file: 'docs/playground.md',
    begins: 'npm run demo -- --playground',
    reason: 'stays until Ctrl-C; tests/browser opens the page of such a demo',
  },
  {
    file: 'docs/playground.md',
    begins: 'npm run build:playground',
    reason: 'a server that stays; tests/browser builds the page and serves it',
  },
]

/** Examples that other tests run, which are named. */
export const examplesRunElsewhere: Readonly<Record<string, string>> = {
  'openai-gateway.ts': 'tests/client/gateway',
  'webhook-receiver.ts': 'tests/icl/webhooks',
}
