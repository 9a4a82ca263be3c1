// The package ships no type declarations; what the tests use of it is declared here.
declare module '@slicekit/erc8128' {
  export function createSignerClient(signer: {
    chainId: number
    address: string
    signMessage(message: Uint8Array): Promise<string>
  }): { signRequest(url: string, init: RequestInit): Promise<Request> }
  export function createVerifierClient(options: {
    verifyMessage: unknown
    nonceStore: { consume(key: string, ttlSeconds: number): Promise<boolean> }
  }): { verifyRequest(options: { request: Request }): Promise<{ ok: boolean }> }
}
