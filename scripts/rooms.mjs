// Rooms are the folders of src/. This table says, bottom first, what each room is for and from which rooms it imports.
// A room imports only from rooms above it in the table, so there are no cycles. eslint holds every import to it, types
// and import() included (eslint.config.js).
//
// usage: node scripts/rooms.mjs compares the table with the code and with docs/architecture.md, and counts cycles
//        node scripts/rooms.mjs --write   writes the table into docs/architecture.md
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const src = join(import.meta.dirname, '..', 'src');
const page = join(import.meta.dirname, '..', 'docs', 'architecture.md');

/** Every room may import from these. */
const ground = ['.', 'api'];

const rooms = {
  '.': ['errors, clock, logger, bounded and safe texts, tables, files that outlive a crash', []],
  flow: ['queues, back-off, time-outs, supervised loops, history of the wall clock', []],
  cri: ['RuntimeService and ImageService: interfaces, gRPC clients, limits', ['flow']],
  plugins: ['gRPC of plugins: connections, registration, devices, pod resources', ['cri', 'flow']],
  'cri/streaming': ['exec, attach and port forward over SPDY and WebSocket', ['cri']],
  api: ['the types of a Pod', []],
  'api/text': ['YAML and JSON to nodes with line and column', []],
  'api/values': ['quantities, names, durations, images, QoS, sums of resources', ['api/text']],
  'api/decoding': ['nodes to typed objects, by schema, with hints for unknown fields', ['api/text', 'api/values']],
  'api/validation': ['the rules of the API server for a Pod', ['api/text', 'api/values', 'api/decoding']],
  'api/objects': [
    'manifests to static pods, ConfigMaps and Secrets, with defaults',
    ['api/text', 'api/values', 'api/decoding', 'api/validation'],
  ],
  'api/kubelet-configuration': [
    'KubeletConfiguration: fields, defaults, rules, merge',
    ['api/text', 'api/values', 'api/decoding', 'api/objects'],
  ],
  'containerd/pause': ['the pause image, made from a program of ours', ['cri']],
  containerd: [
    'the managed containerd: find, configure, supervise, import images',
    ['api/values', 'cri', 'containerd/pause'],
  ],
  'engine/host': ['files that others can replace, mounts, system bus, folders of pods', ['flow']],
  'engine/network': ['DNS, IP addresses, hosts file, HTTP and TCP probes', []],
  'engine/container': [
    'what rooms share of pods in the runtime: status, labels, hash, log paths',
    ['api/values', 'cri'],
  ],
  'engine/logs': ['reading and rotating container logs', ['cri', 'flow', 'engine/host']],
  'engine/pod-manager': ['the declared pods', ['api/values']],
  'engine/userns': ['user ids for user namespaces', ['cri', 'engine/host']],
  'engine/config/last-good': ['the last good manifests on disk', ['api/values', 'api/decoding']],
  'engine/in-place': [
    'which changes of a manifest keep its pod, and the revision that each pod runs',
    ['api/values', 'engine/host', 'engine/container'],
  ],
  'engine/kuberuntime/actions': [
    'decides what a sync does (pure)',
    ['api/values', 'flow', 'engine/container', 'engine/in-place'],
  ],
  'engine/view': [
    'what the engine shows: events, reasons, snapshot',
    ['api/text', 'api/values', 'flow', 'engine/container'],
  ],
  'engine/container-manager/cpu-topology': [
    'lists of CPUs; sockets, cores and NUMA nodes of the machine',
    ['api/values'],
  ],
  'engine/container-manager/topology-manager': [
    'on which NUMA nodes the resources of a container are allocated',
    ['api/values'],
  ],
  'engine/container-manager/checkpoint': [
    'state files of the resource managers, as the kubelet reads them',
    ['api/values'],
  ],
  'engine/container-manager/cpu-manager': [
    'on which CPUs containers run',
    [
      'api/values',
      'flow',
      'engine/view',
      'engine/container-manager/checkpoint',
      'engine/container-manager/cpu-topology',
      'engine/container-manager/topology-manager',
    ],
  ],
  'engine/container-manager/memory-manager': [
    'on which NUMA nodes the memory of containers is',
    ['api/values', 'engine/view', 'engine/container-manager/checkpoint', 'engine/container-manager/topology-manager'],
  ],
  'engine/container-manager/device-manager': [
    'which containers have which devices of plugins',
    [
      'api/values',
      'flow',
      'plugins',
      'engine/view',
      'engine/container-manager/checkpoint',
      'engine/container-manager/topology-manager',
    ],
  ],
  'engine/container-manager/resource-managers': [
    'topology, CPU and memory manager together',
    [
      'api/values',
      'engine/view',
      'engine/container-manager/cpu-topology',
      'engine/container-manager/topology-manager',
      'engine/container-manager/checkpoint',
      'engine/container-manager/cpu-manager',
      'engine/container-manager/memory-manager',
    ],
  ],
  'engine/container-manager': [
    'cgroups of node, QoS classes and pods; node allocatable',
    ['api/values', 'cri', 'engine/host', 'engine/view'],
  ],
  'engine/plugin-manager': [
    'registers the plugins whose sockets are in plugins_registry',
    ['flow', 'plugins', 'engine/host'],
  ],
  'engine/history': ['what happened to pods, on disk', ['api/values', 'engine/view']],
  'engine/explain': [
    'why a pod is where it is, and what to do (pure)',
    ['api/text', 'api/values', 'engine/history', 'engine/view'],
  ],
  'engine/listing': [
    'the table of pods and the warnings beside it, as `ps` prints them (pure)',
    ['api/text', 'api/values', 'engine/explain', 'engine/view'],
  ],
  'engine/outgoing': [
    'bounds texts that leave the engine and hides Secrets in them',
    ['api/text', 'api/values', 'engine/view'],
  ],
  'engine/oom': [
    'notices kills for lack of memory: process, container, figures',
    ['api/values', 'flow', 'engine/container', 'engine/view'],
  ],
  'engine/pleg': ['notices what happens in the runtime', ['cri', 'flow', 'engine/container', 'engine/view']],
  'engine/pod-workers': [
    'one worker a pod: when it is synced',
    ['api/values', 'cri', 'flow', 'engine/container', 'engine/view'],
  ],
  'engine/prober': ['probes', ['api/values', 'cri', 'engine/network', 'flow', 'engine/container', 'engine/view']],
  'engine/config-objects': [
    'ConfigMaps, Secrets, Services and classes that all sources declare',
    ['api/values', 'engine/view'],
  ],
  'engine/config': [
    'PodConfig: lists of all sources, merged into changes',
    ['api/text', 'api/values', 'flow', 'engine/view', 'api/objects', 'engine/outgoing', 'engine/config-objects'],
  ],
  'engine/operations': [
    'what operators asked of declared pods, and the revisions of these pods, on disk',
    ['api/values', 'flow', 'engine/container', 'engine/view'],
  ],
  'engine/ephemeral-containers': [
    'containers that operators added to running pods, on disk',
    [
      'api/text',
      'api/values',
      'api/decoding',
      'api/validation',
      'api/objects',
      'engine/container',
      'engine/operations',
      'engine/view',
      'flow',
    ],
  ],
  'engine/images': [
    'pulls, credentials, image garbage collection',
    [
      'api/text',
      'api/values',
      'cri',
      'engine/host',
      'flow',
      'engine/container',
      'api/kubelet-configuration',
      'engine/view',
      'engine/outgoing',
    ],
  ],
  'engine/kuberuntime/request': [
    'pod to CRI message (pure)',
    ['api/values', 'cri', 'engine/network', 'engine/container', 'engine/userns', 'engine/container-manager'],
  ],
  'engine/status': [
    'status of a pod, and its record on disk',
    ['api/values', 'engine/host', 'engine/container', 'engine/kuberuntime/actions', 'engine/view', 'engine/outgoing'],
  ],
  'engine/persistent-volumes': [
    'claims: their storage, and the pods that use them',
    ['api/values', 'engine/host', 'flow'],
  ],
  'engine/csi': [
    'volumes of CSI drivers: registration, calls, files on disk',
    ['api/values', 'cri', 'engine/host', 'engine/plugin-manager', 'flow', 'plugins'],
  ],
  'engine/volumes': [
    'volumes and sub-paths',
    [
      'api/values',
      'cri',
      'engine/host',
      'engine/container-manager',
      'engine/csi',
      'engine/persistent-volumes',
      'engine/view',
    ],
  ],
  'engine/config/file': [
    'files, folders and stdin as source',
    [
      'api/values',
      'engine/host',
      'flow',
      'api/decoding',
      'engine/config/last-good',
      'engine/view',
      'api/objects',
      'engine/config',
    ],
  ],
  'engine/config/polled': [
    'URLs and other origins as source: polling, last good, decoding',
    ['api/values', 'engine/config/last-good', 'engine/view', 'api/objects', 'engine/config'],
  ],
  'engine/applied': [
    'manifests that operators applied, on disk',
    ['api/values', 'api/decoding', 'flow', 'engine/config/last-good', 'api/objects', 'engine/config'],
  ],
  'engine/stats': [
    'usage of the node, its pods and containers',
    [
      'api/values',
      'cri',
      'engine/host',
      'flow',
      'engine/container',
      'engine/container-manager',
      'engine/volumes',
      'engine/view',
    ],
  ],
  'engine/eviction': [
    'which pods go when the node runs short',
    [
      'api/values',
      'cri',
      'flow',
      'engine/host',
      'engine/view',
      'engine/pod-workers',
      'engine/status',
      'engine/volumes',
      'engine/stats',
    ],
  ],
  'engine/service-names': ['names of pods by Services, in hosts files', ['api/values', 'engine/network', 'flow']],
  'engine/kuberuntime': [
    'carries actions out: sandboxes, containers, hooks, removal',
    [
      'api/values',
      'cri',
      'engine/host',
      'engine/network',
      'flow',
      'engine/container',
      'engine/logs',
      'engine/userns',
      'engine/kuberuntime/actions',
      'engine/view',
      'engine/container-manager',
      'engine/images',
      'engine/kuberuntime/request',
      'engine/service-names',
      'engine/volumes',
      'engine/container-manager/device-manager',
      'engine/container-manager/resource-managers',
    ],
  ],
  'engine/lifecycle': [
    'admission, start order, shutdown of the node',
    [
      'api/values',
      'engine/host',
      'flow',
      'engine/view',
      'engine/pod-workers',
      'engine/kuberuntime/request',
      'engine/status',
      'engine/kuberuntime',
      'engine/container-manager/device-manager',
      'engine/container-manager/resource-managers',
    ],
  ],
  'engine/gc': [
    'remains of pods, dead containers, tear-down',
    [
      'api/values',
      'cri',
      'engine/host',
      'flow',
      'engine/container',
      'engine/in-place',
      'engine/kuberuntime/actions',
      'engine/view',
      'engine/container-manager',
      'engine/kuberuntime',
      'engine/lifecycle',
      'engine/pod-workers',
    ],
  ],
  engine: [
    'the kubelet: made by new-kubelet.ts, driven by sync-loop.ts',
    ['api/values', 'cri', 'flow', 'plugins', 'engine/*'],
  ],
  'origins/http': [
    'manifests of HTTP servers: requests, limits, credentials, signatures',
    [
      'api/decoding',
      'flow',
      'engine/config/polled',
      'engine/config/last-good',
      'engine/network',
      'engine/outgoing',
      'engine/view',
    ],
  ],
  'origins/metadata': [
    'manifests from the metadata of clouds and from NoCloud seeds',
    ['api/decoding', 'engine/config/polled', 'engine/config/last-good', 'origins/http'],
  ],
  'origins/git': [
    "manifests from git repositories, by the machine's git",
    ['api/decoding', 'engine/config/polled', 'engine/config/last-good', 'engine/host'],
  ],
  'origins/oci': [
    'manifests from OCI artifacts: registries, layers, cosign signatures',
    [
      'api/decoding',
      'api/values',
      'engine/config/polled',
      'engine/config/last-good',
      'engine/images',
      'engine/outgoing',
      'engine/view',
      'origins/http',
    ],
  ],
  tui: ['the screen', ['api/values', 'engine/view', 'engine/explain']],
  'server/metrics': ["metrics under the kubelet's names", ['api/values', 'cri', 'engine/view', 'engine/stats']],
  server: ['the HTTP server, and its limits on clients', ['flow']],
  'server/control': [
    'the control socket: its routes, its client, the engine of another process',
    [
      'api/decoding',
      'api/values',
      'flow',
      'engine/view',
      'engine/history',
      'engine/stats',
      'engine/operations',
      'engine/applied',
      'server',
      'server/metrics',
    ],
  ],
  'server/api': [
    'the HTTPS API of the kubelet, and healthz: clients, certificates, routes',
    [
      'api/kubelet-configuration',
      'api/text',
      'api/values',
      'cri',
      'server/metrics',
      'engine/container',
      'engine/host',
      'engine/logs',
      'engine/stats',
      'engine/view',
      'flow',
      'server',
    ],
  ],
  'node/options': [
    'flags and configuration files to options',
    [
      'api/text',
      'api/values',
      'api/kubelet-configuration',
      'engine/container-manager',
      'engine/network',
      'engine/outgoing',
      'origins/git',
      'origins/http',
      'origins/oci',
      'engine/gc',
    ],
  ],
  'node/log': [
    'the log of the agent',
    ['api/values', 'engine/container', 'engine/view', 'engine/outgoing', 'node/options'],
  ],
  'node/sources': [
    'options to manifest sources',
    [
      'api/text',
      'api/values',
      'api/decoding',
      'engine/config/last-good',
      'api/objects',
      'engine/config-objects',
      'engine/config',
      'engine/applied',
      'engine/host',
      'engine/config/file',
      'engine/config/polled',
      'origins/git',
      'origins/http',
      'origins/metadata',
      'origins/oci',
      'engine/images',
      'node/options',
    ],
  ],
  node: [
    'options to node configuration; opens and closes the node',
    [
      'api/values',
      'cri',
      'plugins',
      'engine/host',
      'engine/network',
      'flow',
      'engine/container',
      'api/kubelet-configuration',
      'containerd',
      'engine/config/last-good',
      'api/objects',
      'engine/container-manager',
      'engine/csi',
      'engine/history',
      'engine/in-place',
      'engine/oom',
      'engine/outgoing',
      'engine/persistent-volumes',
      'engine/pleg',
      'engine/stats',
      'engine/config',
      'engine/applied',
      'engine/images',
      'engine/kuberuntime/request',
      'engine/status',
      'engine/eviction',
      'server/metrics',
      'server/control',
      'server/api',
      'engine/kuberuntime',
      'engine/lifecycle',
      'node/options',
      'engine/gc',
      'engine',
      'engine/container-manager/checkpoint',
      'engine/container-manager/cpu-topology',
      'engine/container-manager/memory-manager',
      'engine/container-manager/resource-managers',
    ],
  ],
  'node/diff': [
    'what a start with other manifests would change',
    [
      'api/values',
      'engine/host',
      'engine/container',
      'engine/config/last-good',
      'engine/in-place',
      'engine/kuberuntime/actions',
      'engine/view',
      'api/objects',
      'engine/config',
      'engine/operations',
      'engine/config/polled',
      'engine/kuberuntime',
      'node/sources',
      'node',
    ],
  ],
  'node/preview': [
    'the CRI requests of a manifest, without a runtime',
    [
      'api/values',
      'cri',
      'engine/host',
      'engine/network',
      'engine/container-manager',
      'engine/config-objects',
      'engine/config',
      'engine/kuberuntime/request',
      'engine/persistent-volumes',
      'engine/volumes',
      'engine/kuberuntime',
      'node/options',
      'engine',
      'node',
    ],
  ],
  'node/run-once': [
    'pods run to their end',
    [
      'api/text',
      'api/values',
      'cri',
      'engine/host',
      'flow',
      'cri/streaming',
      'engine/container',
      'engine/container-manager',
      'engine/kuberuntime/actions',
      'engine/logs',
      'engine/view',
      'engine/config',
      'engine/lifecycle',
      'node/options',
      'node/sources',
      'engine',
      'node',
    ],
  ],
  'node/doctor/checks': [
    'facts of the machine, and the verdicts of `doctor` on them (pure)',
    ['api/values', 'containerd', 'engine/container-manager', 'engine/network', 'node'],
  ],
  'node/doctor': [
    'readers of these facts, each with a time limit',
    [
      'api/values',
      'cri',
      'flow',
      'containerd',
      'engine/container-manager',
      'engine/network',
      'engine/host',
      'engine/gc',
      'server/control',
      'server/api',
      'node/options',
      'engine',
      'node',
      'node/doctor/checks',
    ],
  ],
  'node/support-bundle': [
    'everything that helps to find a fault, without secrets',
    [
      'api/text',
      'api/decoding',
      'flow',
      'containerd',
      'engine/config/last-good',
      'engine/history',
      'engine/host',
      'engine/outgoing',
      'engine/stats',
      'server/control',
      'node/options',
      'node',
      'node/doctor',
    ],
  ],
  'commands/habits': ['what command lines of other programs mean here (pure)', ['api/text']],
  'commands/io': ['terminal, JSON and YAML', ['api/text', 'cri/streaming', 'server/control', 'node']],
  'commands/run': ['the screen around an agent', ['engine/view', 'tui', 'server/control', 'node/log', 'commands/io']],
  'commands/diff': ['text of `diff`', ['node/diff']],
  'commands/pod': [
    'finds the pod that a user means',
    [
      'api/text',
      'api/values',
      'cri',
      'cri/streaming',
      'engine/container',
      'engine/logs',
      'engine/history',
      'engine/view',
      'engine/config',
      'engine/config/last-good',
      'server/control',
      'node',
      'commands/io',
    ],
  ],
  'commands/copy': ['files into containers and out of them', ['cri', 'cri/streaming', 'engine/host', 'commands/io']],
  'commands/forward': ['local ports that lead to a pod', ['cri', 'cri/streaming', 'engine/container']],
  'commands/top': ['tables of `top`', ['engine/stats']],
  'commands/run-once': [
    'results of `run-once` for people and CI services',
    ['api/values', 'node/sources', 'node/run-once', 'commands/pod'],
  ],
  'commands/validate': [
    'text of `validate`, and images that are absent',
    [
      'api/text',
      'api/values',
      'cri',
      'engine/config',
      'engine/images',
      'engine/persistent-volumes',
      'node',
      'commands/io',
    ],
  ],
  'commands/describe': [
    'text of `describe`',
    ['api/text', 'api/values', 'engine/view', 'engine/history', 'node/log', 'node', 'commands/io', 'commands/pod'],
  ],
  'commands/doctor': ['text of `doctor`', ['node/doctor/checks', 'commands/io']],
  'commands/output': ['jsonpath and custom columns, as by kubectl', []],
  'commands/wait': ['conditions of `wait`', ['api/values', 'engine/view', 'commands/output']],
  'commands/ps': [
    'rows, choice and watch of `ps`',
    [
      'api/text',
      'api/values',
      'engine/view',
      'engine/listing',
      'server/control',
      'commands/io',
      'commands/output',
      'commands/pod',
    ],
  ],
  'commands/explain': [
    'finds the pod of `explain` and the line at fault; its text',
    [
      'api/text',
      'api/values',
      'api/decoding',
      'api/objects',
      'engine/config/file',
      'engine/logs',
      'engine/view',
      'engine/explain',
      'node',
      'commands/io',
      'commands/pod',
      'commands/describe',
    ],
  ],
  'commands/events': [
    'past and new events of `events`',
    [
      'api/values',
      'engine/view',
      'engine/history',
      'server/control',
      'commands/io',
      'commands/pod',
      'commands/describe',
    ],
  ],
  'commands/images': [
    'images: list, pull, load, bundle, tag, remove and prune',
    [
      'api/text',
      'api/values',
      'cri',
      'containerd',
      'containerd/pause',
      'engine/config-objects',
      'engine/config',
      'engine/container',
      'engine/images',
      'engine/outgoing',
      'server/control',
      'node/options',
      'node/log',
      'node/sources',
      'node',
      'commands/io',
    ],
  ],
  'commands/service': ['the unit of systemd and the script of OpenRC', []],
  'commands/man': ['manual pages from the descriptions of commands', []],
  'commands/completion': [
    'words that a shell completes',
    ['api/values', 'engine/view', 'server/control', 'commands/pod'],
  ],
  'commands/applied': [
    'requests of `apply` and `delete`, to an agent or to its folder',
    ['api/objects', 'engine/applied', 'server/control', 'node/options', 'node/sources', 'commands/io'],
  ],
  commands: [
    'one file a subcommand: parse, call, print',
    [
      'api/values',
      'cri',
      'flow',
      'cri/streaming',
      'engine/host',
      'engine/logs',
      'containerd',
      'engine/view',
      'engine/stats',
      'engine/config',
      'engine/applied',
      'engine/operations',
      'engine/listing',
      'server/control',
      'origins/http',
      'engine',
      'node',
      'node/*',
      'commands/*',
    ],
  ],
};

const roomOf = (file) => dirname(relative(src, file)) || '.';
const isGenerated = (room) => room.split('/').includes('generated');

function mayImport(from, to) {
  if (from === to || ground.includes(to) || isGenerated(to)) return true;
  return (rooms[from]?.[1] ?? []).some(
    (room) => room === to || (room.endsWith('/*') && to.startsWith(room.slice(0, -1))),
  );
}

/** eslint: an import that is not in the table is an error. */
export const roomRule = {
  meta: {
    type: 'problem',
    schema: [],
    messages: { edge: '{{from}} does not import from {{to}}; see scripts/rooms.mjs' },
  },
  create(context) {
    const check = (node) => {
      const specifier = node.source?.value ?? node.source?.literal?.value;
      if (typeof specifier !== 'string' || !specifier.startsWith('.')) return;
      const file = resolve(dirname(context.filename), specifier);
      const [from, to] = [roomOf(context.filename), roomOf(file)];
      if (!relative(src, file).startsWith('..') && !mayImport(from, to))
        context.report({ node, messageId: 'edge', data: { from: `src/${from}`, to: `src/${to}` } });
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
      TSImportType: check,
    };
  },
};

async function main() {
  const edges = await readEdges();
  const drawn = Object.entries(rooms).flatMap(([from, [, tos]]) =>
    tos.filter((to) => !to.endsWith('/*')).map((to) => `${from} -> ${to}`),
  );
  const order = Object.keys(rooms);
  const problems = [
    ...[...edges.keys()]
      .map((edge) => edge.split(' -> '))
      .filter(([from, to]) => !mayImport(from, to))
      .map(([from, to]) => `${from} -> ${to}: not in the table`),
    ...drawn.filter((edge) => !edges.has(edge)).map((edge) => `${edge}: in the table, and nothing imports so`),
    ...drawn
      .map((edge) => edge.split(' -> '))
      .filter(([from, to]) => order.indexOf(to) > order.indexOf(from))
      .map(([from, to]) => `${from} -> ${to}: upwards in the table`),
  ];
  const [before, , after] = splitPage();
  const wanted = `${before}${markdown()}${after}`;
  if (process.argv.includes('--write')) writeFileSync(page, wanted);
  else if (readFileSync(page, 'utf8') !== wanted)
    problems.push('docs/architecture.md: the table of rooms is another one; node scripts/rooms.mjs --write');
  const atRunTime = [...edges].filter(([, { isType }]) => !isType).map(([edge]) => edge);
  console.log(`${order.length} rooms, ${edges.size} edges, ${atRunTime.length} at run time`);
  console.log(`cycles at run time: ${cycles(atRunTime).length}; with types: ${cycles([...edges.keys()]).length}`);
  for (const cycle of cycles([...edges.keys()])) console.log(`  ${cycle.join(' ')}`);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}

/** Edges between rooms as `from -> to`; one is a type edge while every import along it is of types alone. */
async function readEdges() {
  const { default: ts } = await import('typescript');
  const edges = new Map();
  for (const name of readdirSync(src, { recursive: true }).filter((path) => /\.tsx?$/.test(path))) {
    const file = join(src, name);
    if (isGenerated(roomOf(file)) || name === 'main.ts') continue;
    const note = (specifier, isType) => {
      if (!specifier?.startsWith('.')) return;
      const [from, to] = [roomOf(file), roomOf(resolve(dirname(file), specifier))];
      if (from === to || to.startsWith('..') || isGenerated(to)) return;
      const edge = `${from} -> ${to}`;
      edges.set(edge, { isType: isType && edges.get(edge)?.isType !== false });
    };
    const visit = (node) => {
      if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node))
        note(node.moduleSpecifier?.text, isTypeImport(ts, node));
      else if (ts.isImportTypeNode(node)) note(node.argument.literal?.text, true);
      else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
        note(node.arguments[0]?.text, false);
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(name, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true));
  }
  return edges;
}

function isTypeImport(ts, node) {
  if (ts.isExportDeclaration(node)) return node.isTypeOnly;
  const clause = node.importClause;
  if (clause === undefined) return false;
  const bindings = clause.namedBindings;
  return (
    clause.isTypeOnly ||
    (!clause.name &&
      bindings !== undefined &&
      ts.isNamedImports(bindings) &&
      bindings.elements.every((element) => element.isTypeOnly))
  );
}

/** Strongly connected components of more than one room, after Tarjan. */
function cycles(edges) {
  const next = new Map();
  for (const edge of edges) {
    const [from, to] = edge.split(' -> ');
    next.set(from, [...(next.get(from) ?? []), to]);
  }
  const index = new Map();
  const low = new Map();
  const stack = [];
  const found = [];
  const visit = (room) => {
    index.set(room, index.size);
    low.set(room, index.get(room));
    stack.push(room);
    for (const other of next.get(room) ?? []) {
      if (!index.has(other)) visit(other);
      if (stack.includes(other)) low.set(room, Math.min(low.get(room), low.get(other)));
    }
    if (low.get(room) !== index.get(room)) return;
    const component = stack.splice(stack.indexOf(room));
    if (component.length > 1) found.push(component);
  };
  for (const room of next.keys()) if (!index.has(room)) visit(room);
  return found;
}

const markers = ['<!-- rooms: written by scripts/rooms.mjs -->\n', '<!-- end of rooms -->'];

function splitPage() {
  const text = readFileSync(page, 'utf8');
  const [start, end] = [text.indexOf(markers[0]) + markers[0].length, text.indexOf(markers[1])];
  return [text.slice(0, start), text.slice(start, end), text.slice(end)];
}

function markdown() {
  const shown = (room) => (room === '.' ? '`src`' : `\`${room}\``);
  const rows = Object.entries(rooms).map(([room, [purpose, tos]]) => [shown(room), purpose, tos.map(shown).join(' ')]);
  const lines = [['room', 'holds', 'imports from, besides `src` and `api`'], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...lines.map((line) => line[column].length)));
  const text = lines.map((line) => `| ${line.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`);
  text.splice(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`);
  return `\n${text.join('\n')}\n\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
