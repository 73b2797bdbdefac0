/** containerd's namespace for all objects of its CRI plugin. */
export const criNamespace = 'k8s.io';
