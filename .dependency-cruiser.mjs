// Which imports are forbidden. A room is a folder of src/. `npx depcruise src` checks this; types and import() count.

/** For each folder the folders of src/ that it imports from, besides the files of src/ itself. */
const imports = {
  api: [],
  flow: [],
  cri: ['flow'],
  plugins: ['cri', 'flow'],
  containerd: ['api', 'cri'],
  engine: ['api', 'cri', 'flow', 'plugins'],
  origins: ['api', 'engine', 'flow'],
  server: ['api', 'cri', 'engine', 'flow'],
  tui: ['api', 'engine'],
  node: ['api', 'containerd', 'cri', 'engine', 'flow', 'origins', 'plugins', 'server'],
};

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    { name: 'no-cycle-of-rooms', severity: 'error', scope: 'folder', from: {}, to: { circular: true } },
    { name: 'no-cycle-of-files', severity: 'error', from: {}, to: { circular: true } },
    ...Object.entries(imports).map(([from, to]) => ({
      name: `${from}-imports-only-what-it-may`,
      severity: 'error',
      from: { path: `^src/${from}/` },
      to: { path: '^src/[^/]+/', pathNot: [from, ...to, 'generated'].map((folder) => `^src/${folder}/`) },
    })),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['/generated/', '^src/main\\.ts$'] },
  },
};
