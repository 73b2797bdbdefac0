import type { RuntimeConnection } from './runtime-connection.ts';

/** Calls `use` with the connection to a runtime. Then closes it. */
export async function withRuntime<T>(
  connecting: Promise<RuntimeConnection>,
  use: (connection: RuntimeConnection) => Promise<T>,
): Promise<T> {
  const connection = await connecting;
  try {
    return await use(connection);
  } finally {
    connection.close();
  }
}
