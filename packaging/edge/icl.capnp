# The ICL in workerd. Build it, set its SVC_ICL_... variables, then:
#   node scripts/bun.mjs icl/start/build-edge.ts
#   npx workerd serve packaging/edge/icl.capnp
# Another address: npx workerd serve packaging/edge/icl.capnp --socket-addr http=127.0.0.1:8081
using Workerd = import "/workerd/workerd.capnp";
using Built = import "../../dist/edge/built.capnp";

const config :Workerd.Config = (
  services = [
    (name = "icl", worker = .icl),
    # The chain and MongoDB: leave out what yours do not need.
    (name = "internet", network = (
      allow = ["public", "private", "local"],
      tlsOptions = (trustBrowserCas = true),
    )),
  ],
  sockets = [(name = "http", address = "127.0.0.1:8080", http = (), service = "icl")],
);

const icl :Workerd.Worker = (
  modules = Built.modules,
  bindings = Built.bindings,
  compatibilityDate = "2026-11-01",
  durableObjectNamespaces = [(className = "Icl", uniqueKey = "svc-icl", preventEviction = true)],
  durableObjectStorage = (inMemory = void),
);
