/** The namespace of everything that the CRI plugin of containerd makes. */
export const criNamespace = 'k8s.io';
