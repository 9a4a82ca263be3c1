import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../node/config.ts'
import { trimmed } from '../../node/environment.ts'

const file = {
  attestation_backend: 'mock',
  icl_endpoint: 'https://icl.example',
  cofhe_endpoint: 'https://rpc.example/key',
  supported_model_ids: ['openai:gpt-4.1-mini'],
}
const parse = (changes: object = {}, environment: Record<string, string> = {}) =>
  parseConfig({ ...file, ...changes }, environment, '/etc/svc/config.json')

const mistakeOf = (changes: object, environment: Record<string, string> = {}): string => {
  try {
    parse(changes, environment)
  } catch (error) {
    return (error as Error).message
  }
  return 'no mistake'
}

it('the environment has no white space at the ends of what it gives, except of a password', () => {
  const given = {
    SVC_LOG_LEVEL: 'DEBUG\r',
    OPENAI_API_KEY: ' sk\r',
    SVC_KEY_PASSWORD: 'p ',
    A: undefined,
  }
  expect(trimmed(given)).toEqual({
    SVC_LOG_LEVEL: 'DEBUG',
    OPENAI_API_KEY: 'sk',
    SVC_KEY_PASSWORD: 'p ',
    A: undefined,
  })
})

describe('the configuration', () => {
  it('takes its defaults from the specification', () => {
    expect(parse()).toMatchObject({
      max_concurrent_jobs: 2,
      drain_seconds: 60,
      log_level: 'INFO',
      supported_model_ids: ['openai:gpt-4.1-mini'],
    })
  })

  it('logs text to stdout unless told otherwise', () => {
    expect(parse()).toMatchObject({ log_format: 'text', log_old_files: 5 })
    expect(parse().log_file).toBeUndefined()
    const environment = { SVC_LOG_FILE: '/var/log/svc.log', SVC_LOG_FORMAT: 'json' }
    expect(parse({ log_file: 'a', log_format: 'text' }, environment)).toMatchObject({
      log_file: '/var/log/svc.log',
      log_format: 'json',
    })
    expect(mistakeOf({ log_format: 'xml', log_max_bytes: 5 })).toMatch(
      /log_format \(SVC_LOG_FORMAT\): must be text or json[\s\S]*log_max_bytes: must be/,
    )
  })

  it('lets the environment win over the file', () => {
    const config = parse(
      { log_level: 'ERROR' },
      {
        SVC_ICL_ENDPOINT: 'http://127.0.0.1:8080/',
        SVC_IPFS_GATEWAY: 'https://a.example, https://b.example/',
        SVC_COFHE_ENDPOINT: 'http://127.0.0.1:8545',
        SVC_SUPPORTED_MODEL_IDS: 'anthropic:claude-x, openai:gpt-y',
        SVC_LOG_LEVEL: 'warning',
        SVC_MOCK_ATTESTATION_KEY: `0x${'AB'.repeat(16)}`,
        SVC_OPENAI_BASE_URL: 'http://127.0.0.1:9000',
      },
    )
    expect(config).toMatchObject({
      icl_endpoint: 'http://127.0.0.1:8080',
      ipfs_gateway: ['https://a.example', 'https://b.example'],
      cofhe_endpoint: 'http://127.0.0.1:8545',
      supported_model_ids: ['anthropic:claude-x', 'openai:gpt-y'],
      log_level: 'WARNING',
      mock_attestation_key: 'ab'.repeat(16),
      providers: { openai: { base_url: 'http://127.0.0.1:9000' } },
    })
  })

  it('takes the coprocessor as one address, as three, or as an object', () => {
    const all = (url: string) => ({ cofhe_url: url, verifier_url: url, threshold_network_url: url })
    expect(parse().cofhe_urls).toBeUndefined()
    expect(parse({ cofhe_urls: 'https://a.example/' }).cofhe_urls).toEqual(all('https://a.example'))
    expect(parse({ cofhe_urls: all('https://a.example') }).cofhe_urls).toEqual(
      all('https://a.example'),
    )
    const three = 'https://a.example, https://b.example,https://c.example'
    expect(
      parse({ cofhe_urls: 'https://d.example' }, { SVC_COFHE_URLS: three }).cofhe_urls,
    ).toEqual({
      cofhe_url: 'https://a.example',
      verifier_url: 'https://b.example',
      threshold_network_url: 'https://c.example',
    })
    expect(mistakeOf({ cofhe_urls: 'a,b' })).toMatch(/cofhe_urls \(SVC_COFHE_URLS\): must be one/)
    expect(mistakeOf({ cofhe_urls: 'ftp://a' })).toContain('must be an http or https URL')
  })

  it('takes an empty variable for an absent one', () => {
    expect(parse({}, { SVC_LOG_LEVEL: '' }).log_level).toBe('INFO')
  })

  it('resolves a bare model name by its alias', () => {
    const config = parse({
      supported_model_ids: ['fast'],
      model_aliases: { fast: 'openai:gpt-4.1-mini' },
    })
    expect(config.supported_model_ids).toEqual(['openai:gpt-4.1-mini'])
  })

  it('reports every mistake at once, with the variable that would correct it', () => {
    const message = mistakeOf({
      attestation_backend: 'sgx',
      icl_endpoint: 'ftp://icl.example',
      cofhe_endpoint: undefined,
      supported_model_ids: [],
      log_level: 'LOUD',
      mock_attestation_key: 'abc',
      max_concurrent_jobs: 0,
      icl_endpont: 'x',
    })
    expect(message.split('\n')).toHaveLength(9)
    expect(message).toContain('8 mistakes')
    expect(message).toContain('attestation_backend: must be one of mock, tpm')
    expect(message).toContain('icl_endpoint (SVC_ICL_ENDPOINT): must be')
    expect(message).toContain('cofhe_endpoint (SVC_COFHE_ENDPOINT): is missing')
    expect(message).toContain('supported_model_ids (SVC_SUPPORTED_MODEL_IDS): must name a model')
    expect(message).toContain('log_level (SVC_LOG_LEVEL): must be DEBUG, INFO, WARNING or ERROR')
    expect(message).toContain('mock_attestation_key (SVC_MOCK_ATTESTATION_KEY): must be hex')
    expect(message).toContain('max_concurrent_jobs: must be a whole number')
    expect(message).toContain('icl_endpont: unknown field, did you mean icl_endpoint?')
  })

  it('says of a value in the environment that it is wrong, not that it is missing', () => {
    const message = mistakeOf({ log_level: undefined }, { SVC_LOG_LEVEL: 'trace' })
    expect(message).toContain('log_level (SVC_LOG_LEVEL): must be DEBUG, INFO, WARNING or ERROR')
    expect(message).not.toContain('is missing')
  })

  it('is open to other fields: names each that it ignores, and takes the rest', () => {
    const lines: string[] = []
    const others = { notes: 'rack 3', team: 'a', OPENAI_API_KEY: 'sk-x', drain: 3, constructor: 1 }
    const config = parseConfig({ ...file, ...others }, {}, '/x.json', (line) => lines.push(line))
    expect(config).toEqual(parse())
    expect(lines).toEqual([
      '/x.json: notes: unknown field, ignored',
      '/x.json: team: unknown field, ignored',
      '/x.json: OPENAI_API_KEY: unknown field, ignored',
      '/x.json: drain: unknown field, ignored: did you mean drain_seconds?',
      '/x.json: constructor: unknown field, ignored',
    ])
  })

  it.each([
    ['drain_second', 'drain_seconds'],
    ['supported_model_idz', 'supported_model_ids'],
    ['prise', 'prices'],
    ['tpmm', 'tpm'],
    ['LOG-LEVEL', 'log_level'],
    ['maxFeeGwei', 'max_fee_gwei'],
  ])(
    'refuses %s, a misspelling of %s, unless the caller only wants a line of it',
    (typed, meant) => {
      expect(mistakeOf({ [typed]: 3 })).toContain(`${typed}: unknown field, did you mean ${meant}?`)
      const lines: string[] = []
      const never = () => expect.unreachable()
      parseConfig({ ...file, [typed]: 3 }, {}, '/x.json', never, (line) => lines.push(line))
      expect(lines).toEqual([`/x.json: ${typed}: unknown field, did you mean ${meant}?`])
    },
  )

  it('never repeats a value that may be secret', () => {
    expect(mistakeOf({ mock_attestation_key: 'secret-but-not-hex' })).not.toContain('secret')
  })

  it('wants the bare origin of the ICL, because signatures are bound to it', () => {
    for (const same of ['https://icl.example:443', 'HTTPS://ICL.example/']) {
      expect(mistakeOf({ icl_endpoint: same })).toBe('no mistake')
    }
    expect(mistakeOf({ icl_endpoint: 'https://me:secret@icl.example' })).toContain('must be scheme')
    expect(mistakeOf({ icl_endpoint: 'https://icl.example/api' })).toContain(
      'scheme, host and port',
    )
  })

  it('wants https of an ICL or RPC in a public network, and http only where nobody else is on the way', () => {
    for (const field of ['icl_endpoint', 'cofhe_endpoint']) {
      expect(mistakeOf({ [field]: 'http://icl.example' })).toContain('must be https')
      for (const own of [
        'http://127.0.0.1:8080',
        'http://10.0.0.7',
        'http://icl',
        'http://icl.local',
      ]) {
        expect(mistakeOf({ [field]: own })).toBe('no mistake')
      }
    }
  })

  it('says how to write a model without a known provider', () => {
    expect(mistakeOf({ supported_model_ids: ['gpt-4.1'] })).toContain('such as openai:gpt-4.1')
    const unknown = mistakeOf({ supported_model_ids: ['my-vllm:x'] })
    expect(unknown).toMatch(/the provider my-vllm is not known. Known are openai, anthropic\b/)
    expect(unknown).toContain('SVC_MY_VLLM_BASE_URL, or providers.my-vllm.base_url')
    expect(mistakeOf({ supported_model_ids: ['openai:a b'] })).toContain('must be <provider>:')
  })

  it('takes any server by its name, from the file or the environment', () => {
    const ids = ['ollama:llama3:8b', 'my-vllm:org/model', 'smart']
    const config = parse(
      {
        supported_model_ids: ids,
        model_aliases: { smart: 'router:meta-llama/llama-3-70b' },
        providers: {
          ollama: { base_url: 'http://gpu:11434/v1/', api_key_env: 'OUR_KEY' },
          router: { base_url: 'https://old.example' },
        },
      },
      {
        SVC_MY_VLLM_BASE_URL: 'http://10.1.2.3:8000/v1',
        SVC_ROUTER_BASE_URL: 'https://router.example/api/v1',
        // Of another program.
        SVC_STRANGER_BASE_URL: 'no address',
      },
    )
    expect(config.supported_model_ids.at(-1)).toBe('router:meta-llama/llama-3-70b')
    expect(config.providers).toEqual({
      ollama: { base_url: 'http://gpu:11434/v1/', api_key_env: 'OUR_KEY', allow_http: false },
      'my-vllm': { base_url: 'http://10.1.2.3:8000/v1', allow_http: false },
      router: { base_url: 'https://router.example/api/v1', allow_http: false },
    })
  })

  it.each([
    ['http://models.example/v1', 'providers.x.base_url (SVC_X_BASE_URL): must be https'],
    ['http://8.8.8.8', 'set providers.x.allow_http to true'],
    ['http://[2001:db8::1]/v1', 'must be https'],
    ['ftp://127.0.0.1', 'must be an address'],
    ['127.0.0.1:11434', 'must be an address'],
    ['https://me:secret@models.example', 'without a password'],
    ['https://models.example/v1?key=secret', 'without a password or query'],
  ])('refuses %s as a base URL, and does not repeat it', (base_url, mistake) => {
    for (const message of [
      mistakeOf({ providers: { x: { base_url } } }),
      mistakeOf({ supported_model_ids: ['x:y'] }, { SVC_X_BASE_URL: base_url }),
    ]) {
      expect(message).toContain(mistake)
      expect(message).not.toContain('secret')
    }
  })

  it.each([
    'http://localhost:1/v1',
    'http://127.0.0.1:1',
    'http://[::1]:1',
    'http://10.0.0.1',
    'http://172.31.0.1',
    'http://192.168.1.1',
    'http://[fd00::1]:8000/v1',
    'http://ollama:11434/v1',
    'http://gpu.local',
    'http://vllm.models.svc.cluster.local',
    'https://models.example/v1',
  ])('takes %s, where none but the operator listens on the way', (base_url) => {
    expect(mistakeOf({ providers: { x: { base_url } } })).toBe('no mistake')
  })

  it('takes plain http over a public network where the operator says so', () => {
    const x = { base_url: 'http://models.example/v1', allow_http: true }
    expect(mistakeOf({ providers: { x } })).toBe('no mistake')
  })

  it.each([
    [{ ollama: {} }, 'providers.ollama.base_url (SVC_OLLAMA_BASE_URL): is missing'],
    [{ 'svc-key': { base_url: 'https://a.example' } }, 'is no name for a provider'],
    [{ Ollama: { base_url: 'https://a.example' } }, 'is no name for a provider'],
    [{ x: { base_url: 'https://a.example', api_key: 'sk-secret' } }, 'goes into the environment'],
    [{ x: { base_url: 'https://a.example', api_key_env: 'sk-secret' } }, 'must name the environ'],
    [
      { x: { base_url: 'https://a.example', api_key_env: 'SVC_KEY_PASSWORD' } },
      'none of svc-node itself',
    ],
    [{ x: 'https://a.example' }, 'must be an object such as'],
    [['https://a.example'], 'must map names to servers'],
  ])('refuses %j as servers, and repeats no key', (providers, mistake) => {
    const message = mistakeOf({ providers })
    expect(message).toContain(mistake)
    expect(message).not.toContain('sk-secret')
  })

  it('says that a new file by init brings a new wallet, and how to keep the old one', () => {
    const work = () => parseConfig([], {}, '/x.json')
    const hint = expect.stringMatching(
      /backup.* but with a new wallet.*keystore_path.*SVC_IMPORT_PRIVATE_KEY/,
    )
    expect(work).toThrow(expect.objectContaining({ hint }))
  })

  for (const notAnObject of [[], 'text', null, 3]) {
    it(`refuses ${JSON.stringify(notAnObject)} as a file`, () => {
      expect(() => parseConfig(notAnObject, {}, '/x.json')).toThrow('does not hold a JSON object')
    })
  }
})
