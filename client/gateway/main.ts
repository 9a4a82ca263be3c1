// Serves OpenAI's and Anthropic's interfaces on this machine: npm run gateway
import { gatewayHere } from './run-gateway.ts'

await gatewayHere(process.argv.slice(2), {
  listen: (place, answer) => {
    // A job takes longer than the time after which Bun ends connections that are silent.
    const server = Bun.serve({ ...place, idleTimeout: 0, fetch: answer })
    return {
      port: server.port ?? place.port,
      get pending() {
        return server.pendingRequests
      },
      stop: (cutOff) => server.stop(cutOff),
    }
  },
})
