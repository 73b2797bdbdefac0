import { errorMessage } from '../../errors.ts';

/**
 * Tries the credentials, or the pods that have them, in order until one pull succeeds. Without any, pulls once. Rejects
 * with the errors of all attempts. kubelet: kuberuntime/kuberuntime_image.go PullImage
 */
export async function pullWithEach<Auth, T>(
  credentials: readonly Auth[],
  pull: (auth: Auth | undefined) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const errors: unknown[] = [];
  for (const auth of credentials.length === 0 ? [undefined] : credentials) {
    try {
      return await pull(auth);
    } catch (error) {
      signal.throwIfAborted();
      errors.push(error);
    }
  }
  if (errors.length === 1) throw errors[0];
  throw new AggregateError(errors, aggregateMessage(errors));
}

/** Go: k8s.io/apimachinery/pkg/util/errors NewAggregate */
function aggregateMessage(errors: readonly unknown[]): string {
  const messages = [...new Set(errors.map(errorMessage))];
  return messages.length === 1 ? (messages[0] ?? '') : `[${messages.join(', ')}]`;
}
