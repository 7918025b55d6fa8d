"""An agent file that uses everything an agent file can say to stubs."""

from __future__ import annotations

AGENT = """apiVersion: adl.inference-gateway.com/v1
kind: Agent
metadata: {name: clerk, description: Sells books, version: 0.3.0}
spec:
  capabilities: {streaming: true, pushNotifications: false, stateTransitionHistory: false}
  agent: {provider: openai, model: gpt-4o, systemPrompt: Sell books.}
  server: {port: 8080}
  acronyms: [sku]
  language:
    LANGUAGE
  services:
    orderRepo: {type: repository, interface: OrderRepo, factory: NewOrderRepo, description: Orders of the shop}
    mail: {type: client, interface: Mailer, factory: NewMailer, description: Sends letters}
  config:
    mail: {from: "${MAIL_FROM}", retries: 3, secure: true}
    tools: {read: {enabled: true, max_lines: 50}, bash: {enabled: true, whitelist: [ls]}}
  tools:
    - id: find_sku
      name: find_sku
      description: Find a book by its number
      tags: [read]
      inject: [logger, orderRepo, config.mail, mail]
      schema:
        type: object
        properties:
          user_id: {type: string, description: Who asks}
          count: {type: integer, minimum: 1}
          price: {type: number}
          is_new: {type: boolean}
          words: {type: array, items: {type: string}}
          state: {type: string, enum: [in_stock, sold_out]}
          note: {type: [string, "null"]}
          since: {type: string, format: date-time}
          place:
            type: object
            properties: {shelf: {type: string}, row: {type: integer}}
            required: [shelf]
          anything: {}
        required: [user_id, count, price, is_new, words, state, note]
    - id: read
    - id: bash
    - id: list_orders
      name: list_orders
      description: List orders
      tags: [read]
      schema: {type: object, properties: {}}
"""
LANGUAGES = {
    "go": "go: {module: books.example/clerk, version: '1.24'}",
    "typescript": "typescript: {packageName: clerk-tools, nodeVersion: '22'}",
    "rust": "rust: {packageName: clerk-tools, version: '1.88', edition: '2024'}",
    "python": "go: {module: books.example/clerk, version: '1.24'}",
}


def agent_for(language: str) -> str:
    """The agent file of one language."""
    return AGENT.replace("LANGUAGE", LANGUAGES[language])
