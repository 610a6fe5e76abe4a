/**
 * What all test files share: one server and one browser. Each file has a project of its own (`setup.ts`), and the files
 * run one after another, so that lists and counts show only what the file itself has started.
 */

import type { TestProject as VitestProject } from 'vitest/node';
import { launchServer } from './browser.ts';
import { NAME } from './proxy.ts';
import { TestServer, type ServerAddress } from './server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    server: ServerAddress;
    /** Where the browser is connected to. */
    browser: string;
  }
}

export default async function ({ provide }: VitestProject): Promise<() => Promise<void>> {
  // The name is that of the proxy that elsewhere.test.ts puts in front of the server.
  const [server, browser] = await Promise.all([TestServer.create(`[server]\nhosts = ["${NAME}"]\n`), launchServer()]);
  provide('server', { folder: server.folder, port: server.port });
  provide('browser', browser.wsEndpoint());
  return async () => {
    await browser.close();
    await server.remove();
  };
}
