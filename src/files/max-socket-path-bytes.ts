/** Longest socket path for connect(2) and bind(2): sockaddr_un has 108 bytes including the final NUL. */
export const maxSocketPathBytes = 107;
