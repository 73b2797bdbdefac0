/** Longest path of a socket for connect(2) and bind(2): sockaddr_un has 108 bytes with the final NUL. */
export const maxSocketPathBytes = 107;
