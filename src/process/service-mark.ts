/** The comment in each service file that `install-service` writes. Files without it are not ours. */
export const serviceMark = '# Written by kubelet-ts install-service.';
