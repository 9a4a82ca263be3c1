import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../node/config.ts'

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
      openai_base_url: 'http://127.0.0.1:9000',
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
    expect(message).toContain(
      'icl_endpont: is no field of the configuration; did you mean icl_endpoint?',
    )
  })

  it('says of a value in the environment that it is wrong, not that it is missing', () => {
    const message = mistakeOf({ log_level: undefined }, { SVC_LOG_LEVEL: 'trace' })
    expect(message).toContain('log_level (SVC_LOG_LEVEL): must be DEBUG, INFO, WARNING or ERROR')
    expect(message).not.toContain('is missing')
  })

  it('goes on without a field that it does not know for one who only wants to hear of it', () => {
    const unknown: string[] = []
    const config = parseConfig({ ...file, drain_second: 3 }, {}, '/x.json', (mistake) =>
      unknown.push(mistake),
    )
    expect(config.drain_seconds).toBe(60)
    expect(unknown).toEqual([
      '/x.json: drain_second: is no field of the configuration; did you mean drain_seconds?',
    ])
  })

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

  it('says how to write a model without a known provider', () => {
    expect(mistakeOf({ supported_model_ids: ['gpt-4.1'] })).toContain('write openai:gpt-4.1')
    expect(mistakeOf({ supported_model_ids: ['other:x'] })).toContain('must be openai:<model>')
  })

  it('does not take provider keys from the file', () => {
    expect(mistakeOf({ OPENAI_API_KEY: 'x' })).toContain('OPENAI_API_KEY: is no field')
  })

  for (const notAnObject of [[], 'text', null, 3]) {
    it(`refuses ${JSON.stringify(notAnObject)} as a file`, () => {
      expect(() => parseConfig(notAnObject, {}, '/x.json')).toThrow('does not hold a JSON object')
    })
  }
})
