import { describe, expect, it } from 'vitest'
import { isLoopback, parseIpAddress } from '../../lib/ip-address.ts'

describe('an IP address', () => {
  const textOf = (text: string) => parseIpAddress(text)?.toNormalizedString()

  it('is the same from every standard way to write it', () => {
    expect(textOf('192.0.2.1')).toBe('192.0.2.1')
    expect(textOf('::ffff:127.0.0.1')).toBe(textOf('0:0:0:0:0:FFFF:7f00:1'))
    expect(textOf('1::')).toBe(textOf('1:0:0:0:0:0:0:0'))
    expect(textOf('::1:2')).toBe('0:0:0:0:0:0:1:2')
    expect(textOf('1:2:3:4:5:6:7::')).toBe('1:2:3:4:5:6:7:0')
    expect(textOf('::1.2.3.4')).toBe('0:0:0:0:0:0:102:304')
    expect(textOf('64:ff9b::1.2.3.4')).toBe('64:ff9b:0:0:0:0:102:304')
  })

  it.each([
    ...['', 'localhost', '1.2.3', '127.1', '1.2.3.4.5', '256.1.1.1', '1.2.3.4 ', '1.2.3.4:80'],
    ...['01.2.3.4', '0177.0.0.1', '0x7f.0.0.1', '2130706433', '0x7f000001'],
    ...[':', ':::', '::1::', '1::2::3', '12345::', 'g::', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9'],
    ...['::1%eth0', '[::1]', '::1]/', '::ffff:1.2.3', '::ffff:0177.0.0.1', '::ffff:1.2.3.256'],
    ...['1.2.3.4::', '::1.2.3.4:5', '1'.repeat(5_000), `${':'.repeat(5_000)}1`],
  ])('is not %j', (text) => {
    expect(textOf(text)).toBeUndefined()
  })
})

it.each([
  ['http://localhost:8545', true],
  ['http://[::1]:8545/', true],
  ['ws://127.0.0.1', true],
  ['https://127.10.200.3/x', true],
  ['http://localhost.example', false],
  ['http://128.0.0.1', false],
  ['http://127.0.0.1.example', false],
  ['http://x127.0.0.1.example', false],
  ['http://example/127.0.0.1', false],
  ['http://[::2]', false],
  ['http://[::127.0.0.1]', false],
])('this machine: %s: %s', (url, isOurs) => {
  expect(isLoopback(url)).toBe(isOurs)
})
