/** A node without problems. */
export const node = {
  runtime: { endpoint: 'unix:///x', chosenBecause: '', name: 'fake', version: '1' },
  pressures: [],
  sources: [],
  pods: [],
};

/** A worker between two syncs. */
export const worker = { state: 'sync', working: false, pending: false } as const;
