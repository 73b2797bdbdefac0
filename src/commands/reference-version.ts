/** The kubelet whose behaviour is the reference, as a kubelet writes its version. */
export const referenceVersion = 'v1.32.10';
