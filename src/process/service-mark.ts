/** The comment in each service file that `install-service` writes. Files without it are of others. */
export const serviceMark = '# Written by kubelet-ts install-service.';
