/** The minor release of the kubelet whose behavior this program follows. */
export const kubernetesVersion = '1.36';

/** The minor release before it. */
export const previousKubernetesVersion = '1.35';
