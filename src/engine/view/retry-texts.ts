/** When a rejected pod is admitted again, as the rest of a sentence: `It is tried again as soon as …`. */
export const retryTexts = {
  podEnd: 'a pod ends',
  deviceChange: 'a pod ends or its devices change',
  manifest: 'its manifest changes',
  anyManifest: 'manifests change',
  node: 'the node takes pods again',
} as const;
