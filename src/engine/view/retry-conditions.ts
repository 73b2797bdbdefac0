/** When a rejected pod is admitted again, as the rest of a sentence: `The agent tries again as soon as …`. */
export const retryConditions = {
  podEnd: 'a pod stops',
  deviceChange: 'a pod stops or its devices change',
  manifest: 'its manifest changes',
  anyManifest: 'manifests change',
  node: 'the node accepts pods again',
} as const;
