import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { TokenUsers } from './token-file.ts';

/** The user behind a request. */
export interface User {
  name: string;
  groups: readonly string[];
}

export interface Authentication {
  /** True if clients may show a certificate, because a client CA was given. */
  hasClientCA: boolean;
  tokens: TokenUsers;
  anonymous: boolean;
}

const anonymousUser: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/**
 * The user of a request: that of its client certificate, else that of its bearer token, else anonymous if allowed.
 * Returns undefined for wrong or missing credentials. kubelet: cmd/kubelet/app/auth.go BuildAuthn
 */
export function authenticate(
  request: Pick<IncomingMessage, 'socket' | 'headers'>,
  { hasClientCA, tokens, anonymous }: Authentication,
): User | undefined {
  const certificate = hasClientCA ? certificateUser(request.socket) : undefined;
  if (certificate !== undefined && certificate !== 'wrong') return certificate;
  const token = bearerToken(request.headers.authorization);
  const user = token === undefined || tokens.isEmpty ? undefined : (tokens.userOf(token) ?? 'wrong');
  if (user !== undefined && user !== 'wrong') return withGroup(user);
  if (certificate === 'wrong' || user === 'wrong') return undefined;
  return anonymous ? anonymousUser : undefined;
}

/**
 * Common name and organizations of a certificate that the client CA signed for clients. One without a common name
 * counts as none. kubelet: apiserver x509.go CommonNameUserConversion
 */
function certificateUser(socket: IncomingMessage['socket']): User | 'wrong' | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  const { subject } = socket.getPeerCertificate() as Partial<ReturnType<TLSSocket['getPeerCertificate']>>;
  if (subject === undefined) return undefined;
  if (!socket.authorized) return 'wrong';
  const [name = ''] = texts(subject.CN).slice(-1);
  return name === '' ? undefined : withGroup({ name, groups: texts(subject.O) });
}

const texts = (value: string | string[] | undefined): string[] => (value === undefined ? [] : [value].flat());

const withGroup = ({ name, groups }: User): User => ({
  name,
  groups: [...groups.filter((group) => group !== 'system:authenticated'), 'system:authenticated'],
});

function bearerToken(header: string | undefined): string | undefined {
  const [scheme = '', token = ''] = (header ?? '').trim().split(' ');
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined;
}
