// Which imports are forbidden. `npx depcruise src` checks this; types and import() count.

/** Every folder may import from these, and from the files of src/ itself. */
const ground = ['text', 'files', 'process', 'generated'];

/** For each folder the other folders that it imports from. */
const imports = {
  text: [],
  files: [],
  process: [],
  flow: [],
  api: [],
  cri: ['flow'],
  plugins: ['cri', 'flow'],
  containerd: ['api', 'cri', 'flow'],
  engine: ['api', 'cri', 'flow', 'plugins'],
  origins: ['api', 'engine', 'flow'],
  server: ['api', 'cri', 'engine', 'flow'],
  tui: ['api', 'engine'],
  node: ['api', 'containerd', 'cri', 'engine', 'flow', 'origins', 'plugins', 'server'],
};

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    { name: 'no-cycle-of-folders', severity: 'error', scope: 'folder', from: {}, to: { circular: true } },
    { name: 'no-cycle-of-files', severity: 'error', from: {}, to: { circular: true } },
    ...Object.entries(imports).map(([from, to]) => ({
      name: `${from}-imports-only-what-it-may`,
      severity: 'error',
      from: { path: `^src/${from}/` },
      to: { path: '^src/[^/]+/', pathNot: [from, ...to, ...ground].map((folder) => `^src/${folder}/`) },
    })),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['/generated/', '^src/main\\.ts$'] },
  },
};
