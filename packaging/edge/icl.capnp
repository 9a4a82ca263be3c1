# The ICL in workerd. Build it, make a folder for its store, which others must not read, set its SVC_ICL_... variables, then:
#   node scripts/bun.mjs icl/start/build-edge.ts
#   mkdir -m 700 icl-store
#   npx workerd serve packaging/edge/icl.capnp
# Another address or folder: npx workerd serve packaging/edge/icl.capnp --socket-addr http=127.0.0.1:8081 --directory-path store=/var/lib/icl
using Workerd = import "/workerd/workerd.capnp";
using Built = import "../../dist/edge/built.capnp";

const config :Workerd.Config = (
  services = [
    (name = "icl", worker = .icl),
    (name = "store", disk = (path = "icl-store", writable = true)),
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
  durableObjectNamespaces = [
    (className = "Icl", uniqueKey = "svc-icl", enableSql = true, preventEviction = true),
  ],
  durableObjectStorage = (localDisk = "store"),
);
